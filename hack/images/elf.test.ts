import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { loadingOf } from './elf.js';

t.test('the libraries of this Node.js are those of its loader', async (t) => {
  const { loader, needed } = loadingOf(readFileSync(process.execPath));
  const listed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  t.ok(needed.length > 0);
  for (const name of needed) t.match(listed, name);
  t.match(listed, loader ?? 'none');
});

t.test('other files are refused', async (t) => {
  t.throws(() => loadingOf(Buffer.from('#!/bin/sh\n')), /no 64-bit little-endian ELF file/);
});
