"""The bodies of requests (`In`) and answers (`Out`)."""
