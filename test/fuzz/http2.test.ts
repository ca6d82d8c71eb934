/** A second or two of the unlimited run of `make fuzz` for the etcd client and the HTTP/2 server. */
import t from 'tap';
import { resetCode } from '#http/http2/frames.js';
import { fuzzHttp2 } from '#test/fuzz/http2/http2.js';
import { recordEtcd } from '#test/fuzz/http2/recording.js';
import { fuzzHttp2Server } from '#test/fuzz/http2/server.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.test('frames of a broken server', async (t) => {
  t.comment(`SEED=${seed}`);
  const { left, answered } = await fuzzHttp2(seed, await recordEtcd(), (inputs) => inputs < 400);
  t.ok(answered > 0, 'some streams are answered in spite of it');
  for (const code of ['PROTOCOL_ERROR', 'FRAME_SIZE_ERROR'] as const) t.ok(left.has(resetCode[code]), code);
});

t.test('frames of a broken client', async (t) => {
  t.comment(`SEED=${seed}`);
  const { left, answered } = await fuzzHttp2Server(seed, (inputs) => inputs < 400);
  t.ok(answered > 0, 'some requests are answered in spite of it');
  for (const code of ['PROTOCOL_ERROR', 'FRAME_SIZE_ERROR'] as const) t.ok(left.has(resetCode[code]), code);
});
