"""Code that the API and the pages share: who asks, the request's transaction, pages of lists, errors as answers."""
