// this: a document or an element. Returns its HTML as it is now, without what only
// programs read: scripts, styles, comments, and data within addresses.
function () {
	const root = this.documentElement || (this.nodeType === 1 ? this : this.parentElement);
	const copy = document.implementation.createHTMLDocument("").importNode(root, true); // where nothing runs
	for (const el of [...copy.querySelectorAll("script, style, noscript, template, link[rel=stylesheet]")]) el.remove();
	const walker = document.createTreeWalker(copy, NodeFilter.SHOW_COMMENT);
	const comments = [];
	while (walker.nextNode()) comments.push(walker.currentNode);
	for (const c of comments) c.remove();
	for (const el of copy.querySelectorAll("input[type=password][value]")) el.setAttribute("value", "•••");
	for (const el of [copy, ...copy.querySelectorAll("*")]) {
		for (const a of [...el.attributes]) if (a.value.startsWith("data:") && a.value.length > 100) el.setAttribute(a.name, a.value.slice(0, 30) + "…");
	}
	return copy.outerHTML.replace(/\n\s*\n+/g, "\n");
}
