// Package browser drives a Chromium the way a person uses one, and provides the
// tool browser_use, by which an agent does.
//
//	b, err := browser.Start(ctx, browser.Options{})
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	tab, err := b.Open(ctx, "https://example.com/")
//	if err != nil {
//		return err
//	}
//	page, err := tab.State(ctx)
//	if err != nil {
//		return err
//	}
//	fmt.Println(page) // [0]<a link> More information...
//	_, err = tab.Click(ctx, page.Element(0), browser.Button{})
//
// # Elements
//
// [Tab.State] lists the usable elements of a page and its visible text. It sees
// through open and closed shadow roots, and through frames of the same and of
// other origins. The list comes from the browser's own DOM snapshot and from its
// accessibility tree, so a script of the page can neither see nor change it.
// An element keeps its index while it is in the document. An index is
// never reused while the document lives.
//
// # Actions
//
// An action waits until its element is visible, still, enabled and not covered.
// It then sends real input events and waits until their effects have settled:
// a navigation, requests, the next frame that the page draws. A click does not
// wait for that frame; the next look at the page does, or [Tab.Rest]. All
// waiting is for events of the browser, within a time limit.
//
// # The browser
//
// The protocol runs over the transports of chromedp: a pipe to a browser that
// [Start] started, which no other process can reach, or a WebSocket to one that
// was already running. A browser that Start started has a profile directory of
// its own, unless [Options] name one; [Browser.Close] removes that directory and
// ends every process of the browser.
//
// # Where things are
//
// conn.go holds the protocol's connection, browser.go the browser and its tabs,
// tab.go the events of one tab, settle.go the waiting. capture.go turns the
// browser's snapshot into the tree of node.go; elements.go makes the list of
// elements from that tree, and page.go the text that a model reads. point.go
// finds the place where an element can be hit; mouse.go and keyboard.go use it.
// The files tool*.go are browser_use: tool_preview.go says what an act would do
// before it is done, for the user who is asked, and tool_form.go fills in forms;
// choose.go chooses in lists that are no <select>. virtual.go says what a list does not
// draw, and files.go shows pages of the workspace.
// mark.go makes the pictures for models and for people, execute.go runs scripts.
// proxy.go is the proxy of one browser, through which everything passes that its
// pages request; judge.go judges what a browser requests that was running already.
// The functions that run inside a page are files of their own, in js.
package browser
