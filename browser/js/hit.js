// this: the element to click; hit: the node at the place where it would be clicked.
// Returns a description of what covers the element, or "" if a click on hit counts
// as one on the element.
function (hit) {
	const up = n => n.assignedSlot || n.parentNode || n.host || null;
	const within = (n, of) => { for (; n; n = up(n)) if (n === of) return true; return false; };
	// What is in a label and reacts itself keeps the click from the label's field.
	const own = this.localName === "label" && hit.nodeType === 1 && hit !== this && hit.closest("a[href], button, select, textarea, input");
	if (within(hit, this) && !(own && own !== this.control && within(own, this))) return "";
	// A node that is slotted into a closed root does not tell its slot, and text that is
	// slotted is found as the host that it is in.
	const slotted = el => [...el.querySelectorAll("slot")].some(s => s.assignedNodes({flatten: true}).some(a => within(hit, a) || a.nodeType === 3 && a.parentNode === hit && a.data.trim()));
	if (this.querySelectorAll && slotted(this)) return "";
	if (this.shadowRoot && slotted(this.shadowRoot)) return "";
	// A click on the label of a field is a click on the field. So is one on an element
	// around a checkbox or option that is hardly larger, by which pages draw it.
	for (const l of this.labels || []) if (within(hit, l)) return "";
	if (within(this, hit) && this.matches("input, option")) {
		const a = this.getBoundingClientRect(), b = (hit.getBoundingClientRect ? hit : hit.parentElement).getBoundingClientRect();
		if (b.width <= a.width + 40 && b.height <= a.height + 40) return "";
	}
	if (this.matches("area")) return "";
	let el = hit.nodeType === 1 ? hit : hit.parentElement || hit.host;
	if (!el) return "something else";
	let s = "<" + el.localName;
	if (el.id) s += " id=" + JSON.stringify(el.id);
	if (typeof el.className === "string" && el.className) s += " class=" + JSON.stringify(el.className.slice(0, 60));
	s += ">";
	const text = (el.innerText || "").trim().replace(/\s+/g, " ").slice(0, 60);
	return text ? s + " " + JSON.stringify(text) : s;
}
