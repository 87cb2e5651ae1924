package provenance

import "strings"

// skeletons are letters that a reader takes for others, after the confusables
// of Unicode Technical Standard 39, and letters that no normal form takes apart.
// A letter with the accents that normalization removes is not listed.
var skeletons = func() map[rune]string {
	m := map[rune]string{}
	for line := range strings.Lines(lookalikes) {
		to, from, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, r := range from {
			if r != ' ' {
				m[r] = to
			}
		}
	}
	return m
}()

// lookalikes has a line for each letter: what is meant, then what looks like it.
const lookalikes = `a аАαΑɑᴀⱯɐᎪꓮ
ae æÆӕӔᴁ
b ЬВвβΒƄᏴᏼʙɓЪꓐ
c сСϲϹᴄᏟⅽ℃ꓚꮯ
d ԁԀꓒᗞᎠɗđĐðÐᴅꭰ
e еЕεΕєЄᴇꓰᎬɛəҽℯ℮
f ϝϜꓝғҒƒꞙᖴ
g ɡɢԍԌᏀᏳꓖɠց
h һҺНнΗʜᎻᏂꓧħĦհ
i іІιΙɩɪıӀᎥꙇіǀ
j јЈϳʝᎫꓙȷյ
k кКκΚᴋᏦꓗĸ
l ⅼӏʟᏞꓡłŁℓƖוןاǃ
m мМΜᴍᎷꓟⅿɱ
n пΝոռɴꓠηŋŊƞ
o оОοΟօഠᴏᴑꓳ〇ⲟσסهەഠɵөӨøØ
oe œŒɶ
p рРρΡᴘᏢꓑϱþÞƿ
q ԛԚգզʠ
r гГᴦʀᎡꓣɾⲅг
s ѕЅꜱᏚꓢʂտ
ss ßẞ
t тТτΤᴛᎢꓔŧŦ
u υսᴜꓴʋμµᑌ
v νѵѴᴠᏙꓦ∨
w ѡԝԜᴡᏔꓪωшШɯա
x хХχΧᕁꓫ×
y уУγΥүҮᎩꓬʏɣყ
z ᴢᏃꓜΖζʐƶ
`
