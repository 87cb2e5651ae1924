// this: an element that is to get a text. Returns "type" if the text has to be
// typed, and the element has the focus and its content is selected; "set" if the
// text has been set. Throws what is wrong.
function (text) {
	const el = this;
	const tell = () => {
		el.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
		el.dispatchEvent(new Event("change", {bubbles: true, composed: true}));
	};
	if (el.matches(":disabled")) throw new Error("it is disabled");
	if (el.readOnly) throw new Error("it is read-only");
	const set = ["date", "time", "datetime-local", "month", "week", "color", "range"];
	if (el.localName === "input" && set.includes(el.type)) {
		el.focus();
		el.value = text;
		if (text !== "" && el.value !== text && (el.type !== "range" || Number(el.value) !== Number(text))) {
			const form = {date: "2026-11-21", time: "17:30", "datetime-local": "2026-11-21T17:30", month: "2026-11", week: "2026-W47", color: "#ff8800", range: `a number from ${el.min || 0} to ${el.max || 100}, in steps of ${el.step || 1}`};
			throw new Error(`a field of the type ${el.type} does not take ${JSON.stringify(text)}: it takes the form ${form[el.type]}`);
		}
		tell();
		return "set";
	}
	if (el.localName === "input" && ["checkbox", "radio", "button", "submit", "reset", "image"].includes(el.type)) throw new Error(`an input of the type ${el.type} takes no text: click it`);
	if (el.localName === "input" && el.type === "file") throw new Error("it takes a file: use upload_file");
	if (el.localName === "select") throw new Error("it is a drop-down: use select_dropdown_option");
	if (el.localName === "input" || el.localName === "textarea") {
		el.focus({preventScroll: true});
		el.select();
		return "type";
	}
	if (el.isContentEditable) { // only the element around all that is editable can have the focus
		let host = el;
		while (host.parentElement && host.parentElement.isContentEditable && host !== el.ownerDocument.body) host = host.parentElement;
		host.focus({preventScroll: true});
		const range = el.ownerDocument.createRange();
		range.selectNodeContents(el);
		const sel = el.getRootNode().getSelection ? el.getRootNode().getSelection() : el.ownerDocument.getSelection();
		sel.removeAllRanges();
		sel.addRange(range);
		return "type";
	}
	const inner = el.querySelector("input, textarea, [contenteditable]") || el.shadowRoot && el.shadowRoot.querySelector("input, textarea, [contenteditable]");
	if (inner && inner !== el) throw new Error("it takes no text: use the field in it");
	el.focus({preventScroll: true});
	for (let root = el.getRootNode(), on = el; on; on = root.host, root = on && on.getRootNode()) {
		const active = root.activeElement;
		if (!active || active !== on && !on.contains(active)) throw new Error("it takes no text, because it cannot get the focus: name a field, or click it and use send_keys");
	}
	return "type";
}
