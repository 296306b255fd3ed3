/** Long work in small steps, so that the page goes on answering. */

const AT_ONCE = 4; // milliseconds: with what a step of the year takes, less than a frame

/** Give the browser a turn. */
export function breath(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(0);
  });
}

/** Gives the browser a turn whenever the last one is some milliseconds ago: ask between steps whether one is due. */
export class Breathing {
  private last = performance.now();

  get due(): boolean {
    return performance.now() - this.last >= AT_ONCE;
  }

  async pause(): Promise<void> {
    await breath();
    this.last = performance.now();
  }
}
