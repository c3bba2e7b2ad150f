"""The metrics as functions of arrays; leading axes hold draws and groups. They judge nothing."""
