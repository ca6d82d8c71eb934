import t from 'tap';
import { nameOfSlice, pathOfSlice, sliceName, slicePath } from '#nodeagent/resources/slices.js';

const cases: readonly (readonly [path: string, name: string, place: string])[] = [
  ['/', '-.slice', '/'],
  ['/kubepods', 'kubepods.slice', '/kubepods.slice'],
  ['/kubepods/burstable', 'kubepods-burstable.slice', '/kubepods.slice/kubepods-burstable.slice'],
  [
    '/kubepods/besteffort/pod0f-1a',
    'kubepods-besteffort-pod0f_1a.slice',
    '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0f_1a.slice',
  ],
  ['/a-b/kubepods', 'a_b-kubepods.slice', '/a_b.slice/a_b-kubepods.slice'],
];

t.test('each cgroup has a slice', async (t) => {
  for (const [path, name, place] of cases) {
    t.equal(sliceName(path), name);
    t.equal(slicePath(path), place);
    t.equal(pathOfSlice(place === '/' ? name : place), path, 'and back');
  }
  t.equal(nameOfSlice('kubepods-besteffort-pod0f_1a.slice'), 'pod0f-1a');
  t.equal(nameOfSlice('cri-containerd-0f.scope'), undefined);
});
