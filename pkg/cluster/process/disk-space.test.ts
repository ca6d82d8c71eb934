import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { diskProblem } from '#cluster/process/child.js';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';

t.test('a full disk is reported with the remedy', { skip: noSmallDisks }, async (t) => {
  const dir = await smallDisk(t, { bytes: 80 * 1024 * 1024, files: 2 });
  t.equal(diskProblem(dir), undefined);
  const ballast = join(dir, 'ballast');
  await writeFile(ballast, Buffer.alloc(20 * 1024 * 1024));
  const advice = 'free some space, and the program restarts by itself';
  t.equal(diskProblem(dir), `the disk of ${dir} has no files left: ${advice}`);
  await rm(ballast);
  const larger = await smallDisk(t, { bytes: 80 * 1024 * 1024, files: 10 });
  await writeFile(join(larger, 'ballast'), Buffer.alloc(20 * 1024 * 1024));
  t.equal(diskProblem(larger), `the disk of ${larger} has 60 MiB left: ${advice}`);
  t.match(diskProblem(join(dir, 'none')), /cannot read the free space of .*: ENOENT/);
});
