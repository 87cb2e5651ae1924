// Package web finds and reads what is on the web, without a browser: the tools
// web_search, web_fetch and crawl, and research, which keeps notes whose
// quotations are checked against the pages that were read.
//
//	reader := &web.Reader{Client: dialer.Client(), Robots: true}
//	page, err := reader.Read(ctx, "https://example.com/")
//	fmt.Println(page.Title, page.Markdown)
//
// Whatever is read is information from outside: results name their source, and
// the bytes that a page was made from are kept as a blob.
package web
