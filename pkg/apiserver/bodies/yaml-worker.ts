/** The thread of `YamlReader`, which converts YAML to JSON. */
import { parentPort } from 'node:worker_threads';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { yamlText } from '#apimachinery/codec/yaml/encoding.js';
import { readYAML } from '#apimachinery/codec/yaml.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { YamlAnswer } from '#apiserver/bodies/yaml-lane.js';

parentPort?.on('message', (body: Uint8Array) => {
  parentPort?.postMessage(answer(Buffer.from(body.buffer, body.byteOffset, body.byteLength)));
});

function answer(octets: Buffer): YamlAnswer {
  try {
    const { value, repeated } = readYAML(yamlText(octets));
    // An empty document is null.
    return { json: Buffer.from(toJSONText(value)), repeated };
  } catch (error) {
    if (error instanceof DecodeError) return { refusal: error.message };
    throw error;
  }
}
