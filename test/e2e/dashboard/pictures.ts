/** The pictures of docs/dashboard.md: taken with ORCH_PICTURES=write, compared otherwise. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { root } from '#test/e2e/harness.js';

const folder = join(root, 'docs', 'pictures');

/** The pictures are compared in coarse cells, because names and ages in them differ. */
const across = 40;
const down = 25;

/** Mean difference of colours, 0 to 1; 0 where the picture has just been taken. */
export async function pictureDifference(page: Page, name: string): Promise<number> {
  const shot = await page.screenshot({ animations: 'disabled' });
  const path = join(folder, `${name}.png`);
  if (process.env['ORCH_PICTURES'] === 'write') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, shot);
    return 0;
  }
  if (!existsSync(path)) throw new Error(`no picture ${path}: take it with ORCH_PICTURES=write`);
  const blank = await page.context().newPage();
  try {
    const [a, b] = [shot, readFileSync(path)].map((image) => image.toString('base64'));
    return await blank.evaluate<number>(`(${difference})(${JSON.stringify([a, b, across, down])})`);
  } finally {
    await blank.close();
  }
}

/** Runs in the browser, which knows how to read pictures. */
const difference = `async ([a, b, width, height]) => {
  const cells = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }), {
      resizeWidth: width, resizeHeight: height, resizeQuality: 'high',
    });
    const context = new OffscreenCanvas(width, height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, width, height).data;
  };
  const [x, y] = [await cells(a), await cells(b)];
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += Math.abs(x[i] - y[i]);
  return sum / x.length / 255;
}`;
