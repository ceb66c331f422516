"""A trained model opened to people and programs: one service under the HTTP API, the page and the agents' door."""
