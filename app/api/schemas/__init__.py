"""The bodies of requests (`In`) and answers (`Out`), and their way from and to the domain."""
