"""The blocks of models that write, for the next positions of a text whose past is remembered; forward only."""
