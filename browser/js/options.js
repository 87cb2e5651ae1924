// this: a <select>, or an element with the role of one. Returns its options.
function () {
	const all = this.localName === "select" ? [...this.options] : [];
	if (this.localName !== "select") {
		const root = this.getRootNode();
		const ids = (this.getAttribute("aria-controls") || this.getAttribute("aria-owns") || "").split(/\s+/).filter(Boolean);
		const lists = [this, ...ids.map(id => root.getElementById(id)).filter(Boolean)];
		for (const l of lists) all.push(...l.querySelectorAll("[role=option], [role=menuitem], [role=menuitemradio], option"));
		if (!all.length) throw new Error("it has no options to read: click it, and choose among the elements that appear");
	}
	return all.map((o, index) => ({
		index,
		text: (o.label || o.innerText || o.textContent || "").trim().replace(/\s+/g, " "),
		value: o.value === undefined ? o.getAttribute("data-value") || "" : String(o.value),
		selected: o.selected || o.getAttribute("aria-selected") === "true",
		disabled: o.matches(":disabled"),
	}));
}
