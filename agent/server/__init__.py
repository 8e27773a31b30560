"""The HTTP server: research, its page, and the API of OpenAI."""
