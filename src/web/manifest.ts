import type { Site } from './site.ts';

/** What a browser needs to install the instance as an app (https://www.w3.org/TR/appmanifest/). */
export function manifest({ title, assets }: Site): string {
  const icons = [
    { src: assets.icon, type: 'image/svg+xml', sizes: 'any' },
    { src: assets.icon192, type: 'image/png', sizes: '192x192', purpose: 'any maskable' },
    { src: assets.icon512, type: 'image/png', sizes: '512x512', purpose: 'any maskable' },
  ];
  return JSON.stringify({
    name: title,
    short_name: title,
    // Relative to the manifest, so that it is right for an instance below a path.
    id: './',
    start_url: './',
    scope: './',
    display: 'standalone',
    background_color: '#fbfbfc',
    theme_color: '#2f5fd0',
    icons,
  });
}
