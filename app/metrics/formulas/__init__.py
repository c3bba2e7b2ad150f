"""The metrics as functions of arrays, over as many draws and groups at once as the leading axes hold. They judge nothing."""
