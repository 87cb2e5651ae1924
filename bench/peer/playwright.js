// Drives a Chromium by playwright-core, as bench asks on standard input: a
// line "click URL N" or "state URL N" is answered by a line with the times of
// N repetitions, in ms; "tabs URL N" opens N pages and keeps them.
const [, , library, program] = process.argv;
const { chromium } = require(library);
const readline = require("readline");

(async () => {
	const browser = await chromium.launch({ executablePath: program, headless: true, args: ["--no-sandbox"] });
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();
	const does = {
		click: () => page.locator("button").first().click(),
		clicked: async () => { await page.locator("button").first().click(); await page.locator("body").ariaSnapshot(); },
		state: () => page.locator("body").ariaSnapshot(),
	};
	console.log("[]");
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const [what, url, n] = line.split(" ");
		const times = [];
		if (what === "tabs") {
			for (let i = 0; i < Number(n); i++) await (await context.newPage()).goto(url);
		} else {
			if (page.url() !== url) await page.goto(url);
			for (let i = 0; i < Number(n); i++) {
				const start = performance.now();
				await does[what]();
				times.push(performance.now() - start);
			}
		}
		console.log(JSON.stringify(times));
	}
	await browser.close();
})().catch(err => { console.error(err); process.exit(1); });
