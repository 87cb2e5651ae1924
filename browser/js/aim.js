// this: an element; ready, cover: the functions of ready.js and hit.js. Resolves to
// a place in the view where the element can be clicked now, or to null. From then
// on, a press that would hit something else is suppressed, until struck.js runs.
async function (ready, cover) {
	if (window !== top || await ready.call(this)) return null;
	const box = [...this.getClientRects()].find(b => b.width > 0.5 && b.height > 0.5);
	if (!box) return null;
	const x = box.x + box.width / 2, y = box.y + box.height / 2;
	const hits = (x, y) => {
		const root = this.getRootNode();
		const hit = root.elementFromPoint && root.elementFromPoint(x, y);
		return Boolean(hit) && !cover.call(this, hit);
	};
	if (!hits(x, y)) return null;
	const types = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
	const guard = {hit: undefined};
	const judge = e => {
		if (!e.isTrusted) return; // made by the page itself
		if (guard.hit === undefined) guard.hit = !e.type.endsWith("down") || hits(e.clientX, e.clientY);
		if (guard.hit) return;
		e.preventDefault();
		e.stopImmediatePropagation();
	};
	guard.end = () => types.forEach(t => removeEventListener(t, judge, true));
	if (self.openmanusGuard) openmanusGuard.end();
	self.openmanusGuard = guard;
	types.forEach(t => addEventListener(t, judge, true));
	return {X: x, Y: y};
}
