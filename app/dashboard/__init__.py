"""Pages for people, rendered by the server over the same views, permissions and transactions as the API."""
