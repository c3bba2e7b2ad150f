"""What every face of the service shares: who asks, the request's transaction, pages of lists, errors as answers."""
