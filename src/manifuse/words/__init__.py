"""All words about a result: facts come in, sentences go out."""
