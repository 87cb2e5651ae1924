// this: a field. Returns what it holds as text: what is typed, the labels and values
// of the chosen options, the names of files, or whether it is checked; and what kind of field it is:
// "text", "secret", "select", "combo", "check", "radio" or "file", or "" if it is none. A combo is a
// field of which a choice counts, and not what is typed; it shows the choice in itself or
// beside itself. Open is whether its list is shown, Types whether it takes text.
function () {
	const el = this.localName === "label" && this.control || this, aria = el.getAttribute("role");
	const checked = () => String(el.checked !== undefined ? el.checked : el.getAttribute("aria-checked") === "true");
	if (el.localName === "select") return {Kind: "select", Values: [...el.selectedOptions].flatMap(o => [o.label, o.text, o.value])};
	if (el.localName === "input" && el.type === "file") return {Kind: "file", Values: [...el.files].map(f => f.name)};
	if (el.localName === "input" && ["checkbox", "radio"].includes(el.type)) return {Kind: el.type === "radio" ? "radio" : "check", Values: [checked()]};
	if (["checkbox", "switch", "radio"].includes(aria)) return {Kind: aria === "radio" ? "radio" : "check", Values: [checked()]};
	if (el.localName === "input" && ["submit", "button", "reset", "image", "hidden"].includes(el.type)) return {Kind: "", Values: []};
	const typed = el.localName === "input" || el.localName === "textarea";
	if (aria === "combobox" || aria === "listbox" || el.getAttribute("aria-haspopup") === "listbox" || typed && ["list", "both"].includes(el.getAttribute("aria-autocomplete"))) {
		const values = typed ? [el.value] : [];
		const left = "label, legend, script, style, [role=listbox], [role=option]";
		const fields = "input:not([type=hidden]):not([aria-hidden=true]), textarea, select, [role=combobox]";
		// The nearest element around the field that shows a text shows what is chosen.
		for (let n = el, up = 0; n && up < 6 && !values.some(v => v); n = n.parentElement || n.getRootNode().host, up++) {
			if ([...n.querySelectorAll(fields)].some(f => f !== el && !el.contains(f))) break;
			const texts = n.ownerDocument.createTreeWalker(n, NodeFilter.SHOW_TEXT);
			let of = null;
			while (texts.nextNode()) {
				const t = texts.currentNode;
				if (!t.data.trim() || t.parentElement.closest(left)) continue;
				if (t.parentNode === of) values.push(values.pop() + t.data); // a text in several parts
				else values.push(t.data);
				of = t.parentNode;
			}
		}
		for (const o of el.querySelectorAll("[role=option][aria-selected=true]")) values.push(o.innerText.trim());
		return {Kind: "combo", Values: values, Open: el.getAttribute("aria-expanded") === "true", Types: typed && !el.readOnly};
	}
	if (typed) return {Kind: el.type === "password" ? "secret" : "text", Values: [el.value]};
	if (el.isContentEditable) return {Kind: "text", Values: [el.innerText]};
	return {Kind: ["textbox", "searchbox", "spinbutton"].includes(aria) ? "text" : "", Values: [el.textContent]};
}
