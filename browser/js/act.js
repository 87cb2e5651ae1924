// this: an element that is about to be acted on. Returns the origin of its document,
// its name in a form, where a link around it leads, and its form: where that goes, whether the element
// submits it, and what it would send, but for passwords and the content of files.
function () {
	// A form's properties can be hidden by fields of these names.
	const get = (name, form) => Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, name).get.call(form);
	const el = this.nodeType === 1 ? this : this.parentElement;
	const out = {Origin: self.origin, Name: "", Link: "", Form: null};
	if (!el) return out;
	out.Name = el.getAttribute("name") || "";
	const link = el.closest("a[href], area[href]");
	if (link) out.Link = String(link.href.baseVal === undefined ? link.href : link.href.baseVal);
	const button = el.closest("button, input") || el;
	const form = button.form instanceof HTMLFormElement ? button.form : el.closest("form");
	if (!form) return out;
	const submits = button.matches("button[type=submit], button:not([type]), input[type=submit], input[type=image]");
	const own = name => submits && button.hasAttribute(name);
	const value = f => {
		if (f.type === "password") return f.value ? "(a password)" : "";
		if (f.type === "file") return [...f.files].map(f => f.name).join(", ");
		if (f.localName === "select") return [...f.selectedOptions].map(o => o.value).join(", ");
		return String(f.value);
	};
	out.Form = {
		Action: own("formaction") ? button.formAction : get("action", form),
		Method: (own("formmethod") ? button.formMethod : get("method", form)).toUpperCase(),
		Submits: submits,
		Fields: [...get("elements", form)]
			.filter(f => f.name && f.willValidate !== undefined && !f.matches(":disabled"))
			.filter(f => !["submit", "button", "reset", "image"].includes(f.type) && f.localName !== "fieldset" && f.localName !== "object" && f.localName !== "output")
			.filter(f => !["checkbox", "radio"].includes(f.type) || f.checked)
			.map(f => ({Name: f.name, Value: value(f)})),
	};
	return out;
}
