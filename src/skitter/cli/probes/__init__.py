"""One module per kind of question ``skitter probe`` answers."""
