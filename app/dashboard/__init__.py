"""Pages for people, rendered by the server over the same views, permissions and transactions as the API.

A page only reads. What a person changes on it goes to REST v1 from the browser, with the session in place of a key: there is one way
to write, one set of rules, and every refusal names its field.
"""

from .pages import create_pages

__all__ = ["create_pages"]
