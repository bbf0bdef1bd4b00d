"""The walk of a list: positions, order, and the step from one page to the next.

- `cursor`: the position of a walk as data, its token, and the checks of a token that is given back;
- `order`: ids as numbers, and the direction of a walk;
- `walk_state`: what a walk knows of its list, and remembers from page to page;
- `arrange`: the items of a page that are new, in the walk's order;
- `page_view`, `next_page`: a page's claims and positions, and the ladder of rules that names the next page;
- `further_pages`, `ends`: the rungs of the ladder;
- `step`: all of it for one page. Read it first.
"""
