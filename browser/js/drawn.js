// An expression. Resolves when the page has run the tasks that were due and has
// drawn a frame, to whether the window is closing. A hidden page draws nothing:
// it is given half a second.
new Promise(done => {
	const end = () => done(window.closed);
	setTimeout(end, document.hidden ? 500 : 3000);
	setTimeout(() => requestAnimationFrame(() => setTimeout(end)));
})
