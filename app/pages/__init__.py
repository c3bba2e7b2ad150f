"""Pages for people.

A page only reads. Changes go to REST v1 from the browser, with the session in place of a key: there is one
way to write.
"""
