"""The article of a page: its text and what is known of it; pure, and linear in the page's size."""
