import t from 'tap';
import { Needle } from '#apimachinery/codec/json/needle.js';

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
      const needle = new Needle(text, rare);
      t.equal(needle.length, text.length);
      for (let from = 0; from <= bytes.length + 1; from++)
        if (needle.indexIn(bytes, from) !== bytes.indexOf(text, from)) t.fail(`${document} by ${rare} from ${from}`);
    }
  }
});
