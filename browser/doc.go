// Package browser drives a Chromium as a person would use it, and has the
// browser_use tool, by which an agent does.
//
//	b, err := browser.Start(ctx, browser.Options{})
//	...
//	defer b.Close()
//	tab, err := b.Open(ctx, "https://example.com/")
//	page, err := tab.State(ctx)
//	fmt.Println(page)                 // [0]<a link "More information..."> ...
//	err = tab.Click(ctx, page.Element(0))
//
// # Elements
//
// [Tab.State] lists what can be used on a page: through open and closed shadow
// roots and through frames of the same and of other origins. It is made from
// the browser's own snapshot of the DOM and its accessibility tree; no script
// of a page has a part in it. An element keeps its index for as long as it is
// in the document, and an index is given once in the life of a document.
//
// # Actions
//
// An action waits until its element is visible, still, enabled and not
// covered, acts by real input events, and waits until what it set off has
// come to rest: a navigation, requests, the next frame that is drawn. A click
// does not wait for that frame: who looks at the page does, or [Tab.Rest]. All
// waiting is for events of the browser, within a time limit.
//
// # The browser
//
// The protocol runs over chromedp's transports: a pipe to a browser that was
// started here, which nobody else can get hold of, or a WebSocket to one that
// runs. Each browser that was started has a profile directory of its own,
// which goes when it is closed, unless one was named. Nothing that was started
// outlives [Browser.Close].
package browser
