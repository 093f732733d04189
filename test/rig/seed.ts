/** In CI properties try the same examples each time, so that a red run is about the change. At home every run tries others. */
import fc from 'fast-check';

if (process.env.CI) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
