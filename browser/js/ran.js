// An expression. Resolves when the page has run the tasks that were due, to
// whether the window is closing.
new Promise(done => setTimeout(() => setTimeout(() => done(window.closed))))
