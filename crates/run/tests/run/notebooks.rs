//! Notebooks on disk, beside a person who saves them too, and before the eyes of Jupyter's own library.
