"""Names of hardware: chips and boards, and the named target of the core that runs the application."""

from __future__ import annotations

_BOARDS = {
    "cortex-m0": "stm32f0 stm32l0 stm32g0 stm32c0 nrf51 microbit rp2040 pico samd21 arduino-zero lpc11 efm32zg",
    "cortex-m3": "stm32f1 stm32f2 stm32l1 bluepill arduino-due sam3 lpc17 mps2-an385 stellaris",
    "cortex-m4": "mps2-an386 lpc43",
    "cortex-m4f": "stm32f3 stm32f4 stm32g4 stm32l4 stm32wb stm32wl nrf52 microbit-v2 arduino-nano-33 samd51 same51 "
    "apollo3 apollo4 kinetis-k64 teensy3 tm4c efr32mg12 max32660 msp432",
    "cortex-m7": "stm32f7 stm32h7 teensy4 imxrt arduino-portenta arduino-giga same70 samv71 mps2-an500",
    "cortex-m33": "stm32l5 stm32u5 stm32h5 stm32wba nrf53 nrf54 nrf91 rp2350 pico2 lpc55 efr32mg24 ra4 ra6 mps2-an505",
    "cortex-m55": "corstone-300 corstone-310 mps3-an547 alif-e3 alif-e7 stm32n6",
    "rv32imc": "esp32-c2 esp32-c3 esp32c2 esp32c3",
    "rv32imac": "esp32-c6 esp32-h2 esp32c6 esp32h2 gd32vf103 hifive1 ch32v103 longan-nano",
    "rv32imafc": "esp32-p4 esp32p4 ch32v307 bl602 bl616",
    "aarch64": "raspberry-pi-3 raspberry-pi-4 raspberry-pi-5 raspberrypi3 raspberrypi4 raspberrypi5 jetson rk3399 "
    "rk3588 imx8 zynqmp",
    "armv7": "raspberry-pi-2 raspberrypi2 beaglebone zynq7000 imx6 stm32mp1",
    "rv64gc": "visionfive2 hifive-unmatched milk-v-duo",
}

BOARDS = {board: target for target, boards in _BOARDS.items() for board in boards.split()}
"""Name -> target, for those named by what makes them differ: `stm32f4` stands for every chip of that family."""

XTENSA = ("esp8266", "esp32-s2", "esp32-s3", "esp32s2", "esp32s3", "esp32")
"""Chips with cores that LLVM does not know; the longest name that fits decides."""


def target_of_board(name: str) -> str | None:
    """The named target for a chip or a board: `nrf52840` is one of `nrf52`, `STM32F407VG` one of `stm32f4`. None where
    it is not known."""
    name = name.lower().replace("_", "-")
    fitting = [board for board in BOARDS if name.startswith(board)]
    return BOARDS[max(fitting, key=len)] if fitting else None


def is_xtensa(name: str) -> bool:
    """Whether a chip or a board has Xtensa cores."""
    return target_of_board(name) is None and name.lower().startswith(XTENSA)
