// this: the element that aim.js took aim at. Ends the guard, and returns
// whether the element was hit.
function () {
	const guard = self.openmanusGuard;
	if (!guard) return false;
	guard.end();
	self.openmanusGuard = undefined;
	return guard.hit === true;
}
