import t from 'tap';
import { indexOfNeedle, needleOf } from '#apimachinery/codec/json/needle.js';

void t.test('finds what indexOf finds', async (t) => {
  const documents = [
    '',
    '"nodeName":"a"',
    'Name":"',
    '"hostName":"b","nodeName":"c","nodeName":"d"',
    '"nodeName":',
    'deName":"',
  ];
  const text = '"nodeName":"';
  for (const document of documents) {
    const bytes = Buffer.from(document);
    for (let rare = 0; rare < text.length; rare++) {
      const needle = needleOf(text, rare);
      for (let from = 0; from <= bytes.length + 1; from++)
        if (indexOfNeedle(bytes, needle, from) !== bytes.indexOf(text, from))
          t.fail(`${document} by ${rare} from ${from}`);
    }
  }
});
