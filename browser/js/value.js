// this: a field. Returns what it holds as text: what is typed, the labels and values
// of the chosen options, or whether it is checked; and what kind of field it is: "text",
// "secret", "select", "check" or "radio", or "" if fill_form cannot fill it.
function () {
	const el = this, aria = el.getAttribute("role");
	const checked = () => String(el.checked !== undefined ? el.checked : el.getAttribute("aria-checked") === "true");
	if (el.localName === "select") return {Kind: "select", Values: [...el.selectedOptions].flatMap(o => [o.label, o.text, o.value])};
	if (el.localName === "input" && ["checkbox", "radio"].includes(el.type)) return {Kind: el.type === "radio" ? "radio" : "check", Values: [checked()]};
	if (["checkbox", "switch", "radio"].includes(aria)) return {Kind: aria === "radio" ? "radio" : "check", Values: [checked()]};
	if (el.localName === "input" && ["submit", "button", "reset", "image", "file", "hidden"].includes(el.type)) return {Kind: "", Values: []};
	if (el.localName === "input" || el.localName === "textarea") return {Kind: el.type === "password" ? "secret" : "text", Values: [el.value]};
	if (el.isContentEditable) return {Kind: "text", Values: [el.innerText]};
	return {Kind: ["textbox", "searchbox", "combobox", "spinbutton"].includes(aria) ? "text" : "", Values: [el.textContent]};
}
