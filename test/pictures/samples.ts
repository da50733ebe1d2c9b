import { writeFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import type { FeedClient } from '../support/feed-client.ts';
import { file } from '../support/multipart.ts';

const DAY_MS = 24 * 3600 * 1000;

/** A landscape with a hill, a sun and a river, as a JPEG. */
type Scene = { readonly hue: number; readonly width: number; readonly height: number };

/** Draws pictures in a page of the browser. */
export async function landscapes<K extends string>(
  browser: Browser,
  scenes: Readonly<Record<K, Scene>>,
): Promise<Record<K, Buffer<ArrayBuffer>>> {
  const page = await browser.newPage();
  const drawn: [string, Buffer][] = [];
  for (const [name, scene] of Object.entries<Scene>(scenes))
    drawn.push([
      name,
      Buffer.from(await page.evaluate<string>(`(${DRAW})(${JSON.stringify(scene)})`), 'base64'),
    ]);
  await page.close();
  return Object.fromEntries(drawn) as Record<K, Buffer<ArrayBuffer>>;
}

// Text, because tests are checked without the types of browsers.
const DRAW = `async ({ hue, width, height }) => {
  const canvas = new OffscreenCanvas(width, height);
  const paint = canvas.getContext('2d');
  const sky = paint.createLinearGradient(0, 0, 0, height * 0.65);
  sky.addColorStop(0, \`hsl(\${hue} 45% 68%)\`);
  sky.addColorStop(1, 'hsl(42 65% 82%)');
  paint.fillStyle = sky;
  paint.fillRect(0, 0, width, height);
  paint.fillStyle = '#ffefc0';
  paint.beginPath();
  paint.arc(width * 0.72, height * 0.28, height * 0.09, 0, 7);
  paint.fill();
  const hill = (color, left, top, right) => {
    paint.fillStyle = color;
    paint.beginPath();
    paint.moveTo(width * left, height * 0.65);
    paint.lineTo(width * ((left + right) / 2), height * top);
    paint.lineTo(width * right, height * 0.65);
    paint.fill();
  };
  hill(\`hsl(\${hue} 22% 55%)\`, -0.1, 0.4, 0.4);
  hill(\`hsl(\${hue} 28% 45%)\`, 0.12, 0.22, 0.66);
  paint.fillStyle = '#33594c';
  paint.fillRect(0, height * 0.63, width, height);
  paint.fillStyle = \`hsl(\${hue} 42% 60%)\`;
  paint.beginPath();
  paint.moveTo(width * 0.46, height * 0.63);
  paint.bezierCurveTo(width * 0.9, height * 0.76, width * 0.3, height * 0.85, width * 0.5, height);
  paint.lineTo(width * 0.85, height);
  paint.bezierCurveTo(width * 0.55, height * 0.85, width, height * 0.76, width * 0.5, height * 0.63);
  paint.fill();
  const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 })).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}`;

const MARKDOWN = `Everything that a note may hold, on one page. A [link](https://example.org/otters), some **bold**, some *italic*, ~~struck~~ words, and \`inline code\`.[^1]

# A heading of the first level
## Of the second
### Of the third
#### Of the fourth
##### Of the fifth
###### Of the sixth

- whiskers
- tail
  - thick at the base
  - flat below
- webbed feet

1. wake up
2. swim
3. eat a fish

- [x] count the dams
- [ ] tell **everybody**

> It was time. The old dam had been leaking since March, and nobody had looked at it.

> החתול ישן על הגדר, והלוטרה שוחה בנהר כל הלילה.

\`\`\`bash
#!/bin/sh
# Post what the sensor says, every hour.
level=$(cat /sys/river/level)
curl -sS -H 'Content-Type: text/markdown' --data-binary "Level: $level cm" https://notes.example/otter-log
\`\`\`

\`\`\`ts
interface Otter { readonly name: string; fish: number }

export function feed(otters: Otter[], basket = 12): Otter[] {
  return otters.map((otter) => ({ ...otter, fish: otter.fish + Math.floor(basket / otters.length) })); // fair
}
\`\`\`

| Day | Place | Water level | Temperature | Otters seen | Fish | Weather | Who was there | Remarks |
|---|---|--:|--:|--:|--:|---|---|---|
| Monday | Old mill | 112 cm | 11 °C | 3 | 14 | rain, later clearing | Ann, Bo | the dam leaks |
| Tuesday | Weir | 108 cm | 12 °C | 2 | 9 | sun | Bo | repaired with willow |
| Wednesday | Bend below the church | 104 cm | 12 °C | 5 | 21 | sun and wind | Ann, Bo, Cy | two young ones |

---

That is all.

[^1]: As in a terminal.
`;

const REMARKS = [
  'The river is low today.',
  'Two otters below the weir, one with a fish almost as long as itself.',
  'Disk at 61 %. Logs rotated, nothing else to do.\n\n```\n/dev/sda1  61%  /srv\n```',
  'Heron on the roof again. It looks at the cameras as if it paid for them.',
  'Backup finished in 4 min 12 s; restored one folder to see that it works.',
  '> The best time to mend a dam is before the rain.\n\nSaid by the neighbour, **during** the rain.',
  'Still to do:\n\n- [x] oil the gate\n- [ ] new batteries\n- [ ] paint the sign',
];
const TAGS = ['river', 'server', 'dam', 'photo', ''];

/**
 * A feed with all that notes may hold, older notes first, so that it has a second page.
 * @param clock file of `set-clock.mjs`: the notes are of several days
 * @returns addresses of a text with everything, and of a picture
 */
export async function fillOtterLog(
  feed: FeedClient,
  pictures: Readonly<Record<'title' | 'dam' | 'night' | 'home', Buffer<ArrayBuffer>>>,
  clock: string,
) {
  const at = (ahead: number) => writeFile(clock, String(ahead));
  for (let i = 0; i < 60; i += 1) {
    await at(-4 * DAY_MS + i * 0.05 * DAY_MS);
    const tag = TAGS[i % TAGS.length]!;
    const text = i % 11 === 5 ? `## Day ${i} at the river\n\nNothing moved.` : REMARKS[i % REMARKS.length]!;
    await feed.post(text, tag === '' ? {} : { 'x-note-tags': tag });
  }
  await at(-0.9 * DAY_MS);
  const image = { 'content-type': 'image/jpeg' };
  const title = await feed.post(pictures.title, { ...image, 'x-note-alt': 'The hill behind the mill' });
  await at(-0.7 * DAY_MS);
  const everything = await feed.post(MARKDOWN, {
    'x-note-title': 'Field book',
    'x-note-tags': 'river, server',
  });
  await at(-0.5 * DAY_MS);
  await feed.postForm(
    [
      file(
        'text',
        'note.md',
        'text/markdown',
        'The *new* dam holds.\n\n![The dam at noon](dam.jpg)\n\nAnd at night:\n\n![The dam at night](night.jpg)',
      ),
      file('file', 'dam.jpg', 'image/jpeg', pictures.dam),
      file('file', 'night.jpg', 'image/jpeg', pictures.night),
    ],
    { 'x-note-tags': 'dam, photo' },
  );
  await at(-0.3 * DAY_MS);
  const home = await feed.post(pictures.home, {
    ...image,
    'x-note-title': 'On the way home',
    'x-note-alt': 'A river, a hill and the low sun',
    'x-note-tags': 'photo',
  });
  await at(-1000);
  await feed.post('The gate code is **4711** until tomorrow.', { 'x-note-expires': '1d' });
  await at(0);
  await feed.post(
    'Still to do:\n\n- [x] write the notes\n- [ ] tell **everybody**\n\nSee [the list](https://example.org/list).',
    {
      'x-note-tags': 'server',
    },
  );
  await feed.set({
    title: 'Otter log',
    description: 'What happens on the river, and to the server beside it.',
    image: title.json.file,
  });
  return { everything: everything.json, home: home.json };
}
