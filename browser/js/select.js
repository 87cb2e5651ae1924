// this: a <select>; wanted: the options to choose, by text or value. Returns the
// texts of the chosen options. Throws what is wrong.
function (wanted) {
	if (this.localName !== "select") throw new Error("it is not a <select>: click it, and then the option");
	if (this.matches(":disabled")) throw new Error("it is disabled");
	const norm = s => s.trim().replace(/\s+/g, " ");
	const options = [...this.options];
	const chosen = wanted.map(w => {
		const o = options.find(o => norm(o.label) === norm(w)) || options.find(o => norm(o.text) === norm(w)) ||
			options.find(o => o.value === w) || options.find(o => norm(o.label).toLowerCase() === norm(w).toLowerCase());
		if (!o) throw new Error(`it has no option ${JSON.stringify(w)}; there are: ` + options.slice(0, 50).map(o => JSON.stringify(norm(o.label))).join(", "));
		if (o.matches(":disabled")) throw new Error(`the option ${JSON.stringify(w)} is disabled`);
		return o;
	});
	if (chosen.length > 1 && !this.multiple) throw new Error("only one of its options can be chosen");
	this.focus();
	if (this.multiple) for (const o of options) o.selected = chosen.includes(o);
	else chosen[0].selected = true;
	this.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
	this.dispatchEvent(new Event("change", {bubbles: true, composed: true}));
	return [...this.selectedOptions].map(o => norm(o.label));
}
