import t from 'tap';
import { eventOf } from '#nodeagent/cri/grpc/events.js';

/** Encodes a message whose fields are strings, by field number. */
function message(fields: Readonly<Record<number, string>>): Buffer {
  const parts = Object.entries(fields).map(([number, text]) =>
    Buffer.concat([Buffer.from([(Number(number) << 3) | 2, text.length]), Buffer.from(text)]),
  );
  return Buffer.concat(parts);
}

const envelope = (topic: string, value: Uint8Array) => ({ topic, event: { value } });

t.test('events of containerd name the container and its new state', async (t) => {
  for (const [topic, fields, event] of [
    ['/tasks/start', { 1: 'a' }, { id: 'a', became: 'running' }],
    ['/tasks/exit', { 1: 'a', 2: 'a' }, { id: 'a', became: 'stopped' }],
    ['/tasks/delete', { 1: 'a' }, { id: 'a', became: 'stopped' }],
    ['/tasks/oom', { 1: 'a' }, { id: 'a' }],
  ] as const) {
    t.same(eventOf(envelope(topic, message(fields))), event, topic);
  }
});

t.test('the exit of an exec process is not a container event', async (t) => {
  t.equal(eventOf(envelope('/tasks/exit', message({ 1: 'a', 2: 'command' }))), undefined);
  t.equal(eventOf(envelope('/tasks/delete', message({ 1: 'a', 5: 'command' }))), undefined);
});

t.test('undecodable events are ignored', async (t) => {
  t.equal(eventOf(envelope('/tasks/exit', Buffer.from([0x0a, 0xff]))), undefined);
  t.equal(eventOf(envelope('/images/create', message({ 1: 'a' }))), undefined);
  t.equal(eventOf(envelope('/tasks/exit', Buffer.alloc(0))), undefined);
  t.equal(eventOf({ topic: '/tasks/exit', event: null }), undefined);
});
