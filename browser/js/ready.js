// this: an element, or a text in one. Resolves to why it cannot be acted on, or "".
async function () {
	const el = this.nodeType === 1 ? this : this.parentElement;
	if (!el || !el.isConnected) return "it is no longer on the page";
	const style = getComputedStyle(el);
	if (style.visibility === "hidden" || style.display === "none") return "it is hidden";
	if (el.matches(":disabled") || el.control && el.control.matches(":disabled") || el.closest("[aria-disabled=true]")) return "it is disabled";
	// It is still if no animation moves it, or if two frames find it in one place.
	const moving = el.ownerDocument.getAnimations().some(a => {
		const target = a.effect && a.effect.target;
		return a.playState === "running" && target && target.contains(el) && a.effect.getComputedTiming().endTime !== Infinity;
	});
	if (!moving) return "";
	const frame = () => new Promise(done => { requestAnimationFrame(done); setTimeout(done, document.hidden ? 100 : 1000); });
	const a = el.getBoundingClientRect();
	await frame();
	await frame();
	const b = el.getBoundingClientRect();
	return a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height ? "" : "it is moving";
}
