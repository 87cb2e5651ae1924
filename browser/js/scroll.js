// this: a document, or an element in what is to be scrolled; dy: pixels, or 0 for a
// whole view in the direction of sign. Scrolls the nearest thing around the element
// that can be scrolled; for a document, the page or else the largest. Returns how
// many pixels it has scrolled.
function (dy, sign) {
	const doc = this.nodeType === 9 ? this : this.ownerDocument;
	const root = doc.scrollingElement || doc.documentElement;
	const can = el => {
		if (el === root) return el.scrollHeight > el.clientHeight + 1;
		const o = getComputedStyle(el).overflowY;
		return (o === "auto" || o === "scroll" || o === "overlay") && el.scrollHeight > el.clientHeight + 1;
	};
	let el = null;
	if (this.nodeType === 1) {
		for (let n = this; n && n !== doc; n = n.assignedSlot || n.parentNode || n.host) if (n.nodeType === 1 && can(n)) { el = n; break; }
	}
	if (!el && can(root)) el = root;
	if (!el) {
		const size = e => e.clientWidth * e.clientHeight;
		for (const e of doc.querySelectorAll("*")) if (can(e) && (!el || size(e) > size(el))) el = e;
	}
	if (!el) return 0;
	const view = el === root ? doc.defaultView.innerHeight : el.clientHeight;
	const from = el.scrollTop;
	el.scrollBy({top: dy || sign * view, behavior: "instant"});
	return Math.round(el.scrollTop - from);
}
