"""The process that answers HTTP, on a listening socket that outlives it."""

if __name__ == "__main__":
    # Not at the top: each process that makes reports loads this file as its parent's main module.
    from .api_server import main

    main()
