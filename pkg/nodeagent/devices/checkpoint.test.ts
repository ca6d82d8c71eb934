import t from 'tap';
import { decodeCheckpoint, encodeCheckpoint } from '#nodeagent/devices/checkpoint.js';

const empty = new Map<number, string[]>();

/** Written by the code of 1.24. */
const theirs = [
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}',
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/a":[],"example.com/b":["y","x"],"example.com/é":["ü z"]}},"Checksum":582430914}',
  '{"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main","ResourceName":"example.com/a","DeviceIDs":{"-1":["d1","d2"],"0":["d0"],"10":["d10"],"2":["d2"]},"AllocResp":"CgQA/w=="},{"PodUID":"uid-2","ContainerName":"init","ResourceName":"example.com/b","DeviceIDs":{},"AllocResp":""},{"PodUID":"uid-3","ContainerName":"x","ResourceName":"example.com/c","DeviceIDs":null,"AllocResp":null}],"RegisteredDevices":{"example.com/a":["d0"],"example.com/n":null}},"Checksum":1953433016}',
  '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":null},"Checksum":3252601439}',
];

t.test('checkpoints of 1.24 are read', async (t) => {
  for (const text of theirs) t.doesNotThrow(() => decodeCheckpoint(text), text.slice(0, 60));
  const { assignments, devices } = decodeCheckpoint(theirs[2] ?? '');
  t.same(
    assignments.map(({ podUID, devices: groups }) => [podUID, [...groups].sort(([a], [b]) => a - b)]),
    [
      [
        'uid-1',
        [
          [-1, ['d1', 'd2']],
          [0, ['d0']],
          [2, ['d2']],
          [10, ['d10']],
        ],
      ],
      ['uid-2', []],
      ['uid-3', []],
    ],
    'entries',
  );
  t.same([...(assignments[0]?.response ?? [])], [10, 4, 0, 255], 'the response');
  t.same(
    [...devices],
    [
      ['example.com/a', ['d0']],
      ['example.com/n', []],
    ],
    'devices',
  );
});

t.test('checkpoints are written as 1.24 writes them', async (t) => {
  t.equal(encodeCheckpoint({ assignments: [], devices: new Map() }), theirs[0], 'an empty one');
  const entry = { podUID: 'uid', container: 'main', resource: 'example.com/a' };
  const checkpoint = {
    assignments: [
      { ...entry, devices: new Map([[0, ['a']]]), response: Buffer.from([10, 0]) },
      { ...entry, container: 'other', devices: empty, response: Buffer.alloc(0) },
    ],
    devices: new Map([['example.com/a', ['b', 'a']]]),
  };
  const again = decodeCheckpoint(encodeCheckpoint(checkpoint));
  t.same(again.assignments, checkpoint.assignments, 'and read again');
  t.same([...again.devices], [['example.com/a', ['a', 'b']]], 'IDs in their order');
});

t.test('checkpoints of releases before 1.20 have no nodes: node 0 is assumed', async (t) => {
  const data =
    '{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"example.com/a","DeviceIDs":["x"],"AllocResp":""}],"RegisteredDevices":{}}';
  const { assignments } = decodeCheckpoint(`{"Data":${data},"Checksum":3074025019}`);
  t.same([...(assignments[0]?.devices ?? [])], [[0, ['x']]], 'node 0');
});

t.test('a wrong checkpoint is an error', async (t) => {
  const rows: [text: string, message: string | RegExp][] = [
    [theirs[0]?.replace('3467439661', '3467439662') ?? '', 'checkpoint is corrupted'],
    [theirs[1]?.replace('"x"', '"z"') ?? '', 'checkpoint is corrupted'],
    ['', /JSON/],
    ['[]', 'the checkpoint is not an object'],
    ['{"Data":{},"Checksum":"1"}', 'Checksum is not a number'],
    ['{"Data":{"PodDeviceEntries":{}},"Checksum":1}', 'Data.PodDeviceEntries is not a list'],
    ['{"Data":{"PodDeviceEntries":[1]},"Checksum":1}', 'an entry is not an object'],
    ['{"Data":{"RegisteredDevices":{"a":[1]}},"Checksum":1}', 'Data.RegisteredDevices is not a list of strings'],
    ['{"Data":{"PodDeviceEntries":[{}]},"Checksum":1}', 'a name is not a string'],
  ];
  for (const [text, message] of rows) t.throws(() => decodeCheckpoint(text), { message }, String(message));
});
