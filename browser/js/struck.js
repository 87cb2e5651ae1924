// this: the element of the last aim.js. Removes its guard, and returns whether the
// element was hit.
function () {
	const guard = self.openmanusGuard;
	if (!guard) return false;
	guard.end();
	self.openmanusGuard = undefined;
	return guard.hit === true;
}
